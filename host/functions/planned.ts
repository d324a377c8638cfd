/**
 * Functions that the language has but this engine cannot run yet, with the smallest and largest number of their arguments
 * (null: any number). A rule that uses one is refused by name. A function leaves this list with its definition.
 */
export const plannedFunctions: Readonly<Record<string, readonly [min: number, max: number | null]>> = {
  // aggregate
  last_agg_hit_count: [0, 0],
  last_agg_hit_time: [0, 0],
  // analytic
  acc_avg: [1, 3],
  acc_count: [1, 3],
  acc_max: [1, 3],
  acc_min: [1, 3],
  acc_sum: [1, 3],
  changed_col: [2, 2],
  changed_cols: [3, null],
  had_changed: [2, null],
  lag: [1, 4],
  latest: [1, 2],
  // array
  array_flatten: [1, 1],
  array_join: [2, 3],
  array_map: [2, 2],
  array_max: [1, 1],
  array_min: [1, 1],
  array_shuffle: [1, 1],
  array_sort: [1, 1],
  kvpair_array_to_obj: [1, 1],
  repeat: [2, 2],
  sequence: [2, 3],
  // conversion
  chr: [1, 1],
  compress: [2, 2],
  dec2hex: [1, 1],
  decode: [2, 2],
  decompress: [2, 2],
  hex2dec: [1, 1],
  // hash
  crc32: [1, 1],
  // incremental
  inc_avg: [1, 1],
  inc_collect: [1, 1],
  inc_count: [1, 1],
  inc_last_value: [2, 2],
  inc_max: [1, 1],
  inc_merge_agg: [1, 1],
  inc_min: [1, 1],
  inc_sum: [1, 1],
  // json
  to_json: [1, 1],
  // math
  conv: [3, 3],
  // misc
  bypass: [1, 1],
  dedup_trigger: [4, 4],
  delay: [2, 2],
  get_keyed_state: [3, 3],
  last_hit_count: [0, 0],
  last_hit_time: [0, 0],
  rule_start: [0, 0],
  // object
  object: [2, 2],
  object_construct: [0, null],
  object_pick: [2, null],
  zip: [1, 1],
  // string
  format: [2, 3],
  // window
  row_number: [0, 0],
};
