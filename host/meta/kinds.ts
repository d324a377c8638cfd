/** Names of the tables in which definitions are stored. */
export const kinds = {
  /** Streams and tables, `{streamType, streamKind, statement}`. */
  source: 'stream',
  /** Rules as they were sent, without `triggered`. */
  rule: 'rule',
  /** `{triggered}` of the rules whose value was given or changed. */
  ruleState: 'ruleState',
  /** Earlier texts of updated rules, `[{number, until, rule}]`, the newest last. */
  ruleHistory: 'ruleHistory',
  /** Properties of `<sources|sinks|connections>.<connector>.<key>`. */
  confKey: 'confKVStorage',
  /** Named connections, `{typ, props}`. */
  connection: 'connection',
  /** `<type>/<name>` → `{content, file, soFile, version, folder}`. */
  schema: 'schema',
  /** External services, `{file, folder, definition, functions}`. */
  service: 'service',
  /** Native plugins `<sources|sinks|functions>/<name>`, `portables/<name>`, `wasm/<name>`. */
  plugin: 'plugin',
  /** JavaScript functions, `{id, description, script, isAgg}`. */
  script: 'script',
  /** Losses that nobody has acknowledged, by number. */
  loss: 'loss',
  /** Refusals of the last import. */
  importStatus: 'importStatus',
} as const;
