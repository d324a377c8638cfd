/** Topics and the filters that they fall under. */

/**
 * Says whether a topic, split into its levels, falls under a filter: `+` stands for one level, `#` for all that follow.
 */
export function matches(filter: readonly string[], levels: readonly string[]): boolean {
  for (let i = 0; i < filter.length; i++) {
    if (filter[i] === '#') return true;
    if (i >= levels.length || (filter[i] !== '+' && filter[i] !== levels[i])) return false;
  }
  return filter.length === levels.length;
}
