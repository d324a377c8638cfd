/** Schemas that the contracts of sources refer to; read with the OpenAPI document. */
import {
  boolean,
  either,
  integer,
  list,
  map,
  object,
  objectOfAnything,
  orNull,
  ref,
  type Schema,
  string,
} from '../route/contract.js';

export const schemas: Readonly<Record<string, Schema>> = {
  Statement: object({ sql: string }, true),
  StreamDetails: list(object({ name: string, type: string, format: string })),
  StreamDescription: object({
    Name: string,
    StreamFields: orNull(list(object({ Name: string, FieldType: either(string, integer, objectOfAnything) }))),
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
};
