/* Times and shares for people. */

/* 1:02.4, and 1:00:02.4 from an hour on. */
export function timeCode(seconds, digits = 1) {
  const whole = Math.max(0, Number(seconds.toFixed(digits)));
  const rest = (whole % 60).toFixed(digits).padStart(digits ? 3 + digits : 2, "0");
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}

/* Of films: 01:02:03, whole seconds that have passed, as in the report. */
export function filmCode(seconds) {
  const whole = Math.max(0, Math.floor(seconds + 1e-6));
  return [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
}

export const percent = (share) => `${Math.round(100 * share)}%`;
