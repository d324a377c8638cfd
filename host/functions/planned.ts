/**
 * Functions that the language has but this engine cannot run yet, with the smallest and largest number of their arguments
 * (null: any number). A rule that uses one is refused by name. A function leaves this list with its definition.
 */
export const plannedFunctions: Readonly<Record<string, readonly [min: number, max: number | null]>> = {
  // misc
  dedup_trigger: [4, 4],
};
