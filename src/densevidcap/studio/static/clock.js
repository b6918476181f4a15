/* Times for people: 1:02.4, and 1:00:02.4 from an hour on. */

export function timeCode(seconds, digits = 1) {
  const whole = Math.max(0, Number(seconds.toFixed(digits)));
  const rest = (whole % 60).toFixed(digits).padStart(digits ? 3 + digits : 2, "0");
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}
