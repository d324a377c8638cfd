/**
 * A version greater than the one that a rule has, in the order of texts, by which the server compares them: its last
 * number counts on, or gets one more part where it would become longer. A rule without a version needs none.
 */
export function laterVersion(version: string | undefined): string | undefined {
  if (!version) return undefined;
  const digits = /\d+$/.exec(version)?.[0] ?? '';
  if (/^9*$/.test(digits)) return `${version}.1`;
  const next = String(BigInt(digits) + 1n).padStart(digits.length, '0');
  return version.slice(0, version.length - digits.length) + next;
}
