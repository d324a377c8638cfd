/** Names of the tables in which definitions are stored. */
export const kinds = {
  /** Streams and tables, `{streamType, streamKind, statement}`. */
  source: 'stream',
  /** Rules as they were sent, without `triggered`. */
  rule: 'rule',
  /** `{triggered}` of the rules whose value was given or changed. */
  ruleState: 'ruleState',
  /** Properties of `<sources|sinks|connections>.<connector>.<key>`. */
  confKey: 'confKVStorage',
} as const;
