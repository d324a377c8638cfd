/** Topics and the filters that they fall under. */

/** Begin of topics of the engine itself, for which no wildcard stands. */
const ownTopics = '\u0000';

/**
 * Says whether a topic, split into its levels, falls under a filter: `+` stands for one level, `#` for all that follow.
 */
export function matches(filter: readonly string[], levels: readonly string[]): boolean {
  if (levels[0] === ownTopics && filter[0] !== ownTopics) return false;
  for (let i = 0; i < filter.length; i++) {
    if (filter[i] === '#') return true;
    if (i >= levels.length || (filter[i] !== '+' && filter[i] !== levels[i])) return false;
  }
  return filter.length === levels.length;
}

/** Whether the topic, or the filter, is one of the engine itself. */
export function isOwnTopic(topic: string | undefined): boolean {
  return topic?.startsWith(`${ownTopics}/`) === true;
}

/** A topic of the engine itself. */
export function ownTopic(...levels: readonly string[]): string {
  return [ownTopics, ...levels].join('/');
}
