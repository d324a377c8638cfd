/** Refusals of calls of functions. */
import { planErrors } from './table.js';

export const functionErrors = planErrors('function', {
  overNoAnalytic: (name: string) => `OVER cannot follow ${name}, which is no analytic function`,
  filterNoAggregate: (name: string) => `FILTER cannot follow ${name}, which is no aggregate`,
  wrongCall: (message: string) => message,
  keepsState: (name: string, owner: string) =>
    `${name} keeps a state for the rows that follow, which ${owner} can't on a thread of its own`,
  makesRows: (name: string) => `${name} makes rows: it stands alone in the SELECT list, outside of expressions`,
  aggregateNotAllowed: (name: string, clause: string) => `the aggregate ${name} is not allowed in ${clause}`,
  looksBack: (name: string, clause: string) => `${name} looks back at other rows, which ${clause} cannot`,
  overSeveralColumns: 'OVER cannot follow changed_cols, which gives several columns',
  filterChangedCols: 'FILTER cannot follow changed_cols',
  prefixNoText: 'the prefix of changed_cols must be a text in the statement itself',
  filterAnalytic: (name: string) => `FILTER cannot follow ${name}, use OVER (WHEN …)`,
  severalColumns: (name: string) => `${name} gives several columns: it can only be an item of SELECT by itself`,
  numbersRows: (name: string, clause: string) => `${name} numbers rows of the result, which ${clause} comes before`,
  noOrderBy: (name: string) => `ORDER BY cannot be used with ${name}`,
  noWhen: (name: string) => `WHEN cannot be used with ${name}`,
  lagOffset: 'the offset of lag must be a number in the statement itself',
  leadNoValue: 'lead needs a value',
  overLead: 'OVER cannot follow lead, which is no analytic function but an aggregate',
  leadOffset: 'the offset of lead must be a number in the statement itself',
  leadNulls: 'the fourth argument of lead must be true or false in the statement itself',
  looksBackAtTable: (name: string, table: string) =>
    `${name} looks back at rows of streams; the table ${table} is joined later`,
  castArguments: 'cast needs a value and a type',
  castType: (value: string) => `cast to ${value} is not known`,
  incLastValueArguments: 'inc_last_value needs two arguments',
  dedupNotAllowed: (clause: string) => `dedup_trigger is not allowed in ${clause}: it can only be an item of SELECT`,
  dedupRows: 'dedup_trigger works on the rows of one stream: it cannot stand above a window, an aggregate or a join',
  dedupExpiry: 'the fourth argument of dedup_trigger must be a number in the statement itself',
  dedupConstant: (place: number) => `argument ${place + 1} of dedup_trigger must be a column, not a constant`,
  dedupTimes: 'dedup_trigger needs three times',
  delayArguments: 'delay needs a time and a value',
  mapArguments: 'array_map needs a function and a list',
  beforeWindow: (name: string) => `${name}() is not known before the window is complete`,
  tellsOfSent: (name: string, clause: string) => `${name} tells of rows that were sent, which ${clause} does not know`,
  notInJoin: (name: string) => `${name}() in a join is not supported yet`,
  hitsOfAggregate: (name: string, part: string) =>
    `${name} is not allowed in an aggregate query, use last_agg_hit_${part}`,
  noMetadataKey: (name: string) => `${name} needs a key`,
  mqttKey: 'the argument of mqtt must be topic or messageid',
  metadataKey: (name: string) => `the argument of ${name} must be the name of a metadata key, without quotes`,
  wrongArgument: (name: string, place: number, spec: string | undefined, reason: string) =>
    `function ${name}: argument ${place + 1} (${spec}) ${reason}`,
  wasmName: (form: string) => `the first argument of wasm_run must be the function in the statement itself, as ${form}`,
  wasmUnknown: (name: string) => `wasm_run: no wasm plugin has a function ${JSON.stringify(name)}`,
  wasmOther: (plugin: string, name: string, owner: string) =>
    `wasm_run: wasm plugin ${plugin} has no function ${name}, it is of ${owner}`,
  answersInOn: (name: string | undefined) => `function ${name} answers later: it can't be called in ON`,
  dedupAboveWindow: 'dedup_trigger works on the rows of a stream: it cannot stand above a window',
});
