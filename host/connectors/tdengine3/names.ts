/** Names of tables and columns as they stand in statements. */

/** Why a text names no table. Names go into statements as they are. */
export function tableReason(name: string): string | undefined {
  const isName = /^(?:[\p{L}_][\p{L}\p{N}_]*|`[^`]+`)(?:\.(?:[\p{L}_][\p{L}\p{N}_]*|`[^`]+`))?$/u.test(name);
  return isName ? undefined : 'must be the name of a table, such as meters or plant.meters';
}
