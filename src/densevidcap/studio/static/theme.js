/* Dark or light: as the system has it, until somebody asks for the other one. */

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

export function offerThemes(button) {
  const show = () => {
    const theme = localStorage.getItem("theme") ?? (system.matches ? "dark" : "light");
    root.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light" : "Dark";
    button.title = `Show the page in ${theme === "dark" ? "light" : "dark"} colours`;
  };
  button.addEventListener("click", () => {
    localStorage.setItem("theme", root.dataset.theme === "dark" ? "light" : "dark");
    show();
  });
  system.addEventListener("change", show);
  show();
}
