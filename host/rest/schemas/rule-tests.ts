/** Schemas that the contracts of trial runs refer to; read with the OpenAPI document. */
import { integer, object, objectOfAnything, type Schema, string } from '../route/contract.js';

export const schemas: Readonly<Record<string, Schema>> = {
  RuleTest: object(
    {
      'id?': string,
      'sql?': string,
      'mockSource?': objectOfAnything,
      'sinkProps?': objectOfAnything,
      'options?': objectOfAnything,
    },
    true,
  ),
  RuleTestCreated: object({ id: string, port: integer }),
  RuleTestRefused: object({ msg: string }, true),
};
