/** Schemas that the contracts of transfer refer to; read with the OpenAPI document. */
import { sectionNames } from '../../meta/transfer/sections.js';
import { integer, map, object, orNull, ref, type Schema, string } from '../route/contract.js';

const everyMap = (values: Schema) => object(Object.fromEntries(sectionNames.map((name) => [name, values])), true);

export const schemas: Readonly<Record<string, Schema>> = {
  ImportRequest: object({ 'content?': string, 'file?': string }, true),
  ImportResult: object({ ErrorMsg: string, ConfigResponse: ref('ImportStatus') }, true),
  ImportStatus: everyMap(orNull(map(string))),
  ExportDocument: everyMap(orNull(map(string))),
  Ruleset: object({ 'streams?': map(string), 'tables?': map(string), 'rules?': map(string) }, true),
  Task: object(
    {
      id: string,
      status: { enum: ['register', 'running', 'finish', 'error', 'cancel'] },
      message: string,
      createdTimestamp: integer,
      updatedTimestamp: integer,
    },
    true,
  ),
};
