/** An offset from UTC as text: hours, minutes, and seconds where it has some. */
export function offsetText(offset: number, colon: ':' | ''): string {
  const seconds = Math.abs(offset);
  const two = (value: number) => String(value).padStart(2, '0');
  const parts = [two(Math.trunc(seconds / 3600)), two(Math.trunc(seconds / 60) % 60)];
  if (seconds % 60 !== 0) parts.push(two(seconds % 60));
  return `${offset < 0 ? '-' : '+'}${parts.join(colon)}`;
}
