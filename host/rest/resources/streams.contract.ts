/** What the routes of streams take and give; those of tables do the same. */
import {
  boolean,
  type Contract,
  changed,
  defineContracts,
  either,
  gives,
  integer,
  keptDone,
  list,
  made,
  map,
  names,
  object,
  objectOfAnything,
  orMissing,
  orNull,
  ref,
  type Schema,
  string,
} from '../route/contract.js';

const fieldType: Schema = either(string, integer, objectOfAnything);

/** Contracts of the sources of one kind; `filter` is what the query of the lists may name. */
export function sourceContracts(
  kind: 'streams' | 'tables',
  details: string,
  filter?: Contract['query'],
): Record<string, Contract> {
  return {
    [`POST /${kind}`]: made(ref('Statement')),
    [`GET /${kind}`]: gives(names, filter),
    [`GET /${details}`]: gives(ref('StreamDetails'), filter),
    [`GET /${kind}/:id`]: gives(ref('StreamDescription')),
    [`GET /${kind}/:id/schema`]: gives(ref('StreamSchema')),
    [`PUT /${kind}/:id`]: changed(ref('Statement')),
    [`DELETE /${kind}/:id`]: orMissing({ ...keptDone, query: { force: 'true drops it although rules use it' } }),
  };
}

export const streams = defineContracts(sourceContracts('streams', 'streamdetails'), {
  Statement: object({ sql: string }, true),
  StreamDetails: list(object({ name: string, type: string, format: string })),
  StreamDescription: object({
    Name: string,
    StreamFields: orNull(list(object({ Name: string, FieldType: fieldType }))),
    Options: objectOfAnything,
    StreamType: integer,
    Statement: { type: 'null' },
  }),
  StreamSchema: orNull(map(ref('Column'))),
  Column: orNull(
    object({
      'type?': string,
      'index?': integer,
      'hasIndex?': boolean,
      'properties?': map(ref('Column')),
      'items?': ref('Column'),
    }),
  ),
});
