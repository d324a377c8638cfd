/**
 * Functions that the language has but this engine cannot run yet, with the smallest and largest number of their arguments
 * (null: any number). A rule that uses one is refused by name. A function leaves this list with its definition.
 */
export const plannedFunctions: Readonly<Record<string, readonly [min: number, max: number | null]>> = {
  // aggregate
  last_agg_hit_count: [0, 0],
  last_agg_hit_time: [0, 0],
  // incremental
  inc_avg: [1, 1],
  inc_collect: [1, 1],
  inc_count: [1, 1],
  inc_last_value: [2, 2],
  inc_max: [1, 1],
  inc_merge_agg: [1, 1],
  inc_min: [1, 1],
  inc_sum: [1, 1],
  // misc
  dedup_trigger: [4, 4],
  delay: [2, 2],
  get_keyed_state: [3, 3],
  last_hit_count: [0, 0],
  last_hit_time: [0, 0],
};
