/** Times by a pattern such as `YYYY-MM-dd HH:mm:ss.SSS`. */

/** Writes a time, ms since 1970, in UTC. */
export function timeText(ms: number, pattern: string): string {
  if (pattern === '') return new Date(ms).toISOString();
  const time = new Date(ms);
  const pad = (value: number, length: number) => String(value).padStart(length, '0');
  const parts: Readonly<Record<string, (length: number) => string>> = {
    y: (length) => pad(time.getUTCFullYear(), 4).slice(length === 2 ? 2 : 0),
    M: (length) => pad(time.getUTCMonth() + 1, length),
    d: (length) => pad(time.getUTCDate(), length),
    H: (length) => pad(time.getUTCHours(), length),
    h: (length) => pad(time.getUTCHours() % 12 || 12, length),
    m: (length) => pad(time.getUTCMinutes(), length),
    s: (length) => pad(time.getUTCSeconds(), length),
    S: (length) => pad(time.getUTCMilliseconds(), 3).padEnd(length, '0').slice(0, length),
  };
  return pattern.replace(/([YyMdDHhmsS])\1*|'([^']*)'/g, (all, letter: string | undefined, quoted: string) => {
    if (letter === undefined) return quoted;
    const part = parts[letter === 'Y' ? 'y' : letter === 'D' ? 'd' : letter];
    return part === undefined ? all : part(all.length);
  });
}
