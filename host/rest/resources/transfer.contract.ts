/** What the routes of imports and exports take and give. */
import { sectionNames } from '../../meta/transfer/document.js';
import {
  asFile,
  bytes,
  defineContracts,
  done,
  gives,
  integer,
  keptDone,
  map,
  names,
  object,
  orMissing,
  orNull,
  ref,
  type Schema,
  string,
} from '../route/contract.js';

const importing = { request: ref('ImportRequest'), requestIsOptional: false };
const importQuery = {
  partial: '1 keeps what the document does not name',
  stop: '1 ends the server afterwards',
  atomic: '1 changes nothing when an item is refused',
};
const exportQuery = { secrets: 'omit leaves passwords and keys out' };

const everyMap = (values: Schema) => object(Object.fromEntries(sectionNames.map((name) => [name, values])), true);

export const transfer = defineContracts(
  {
    'POST /data/import': { ...importing, query: importQuery, answers: { 200: ref('ImportResult') }, isKept: true },
    'POST /async/data/import': { ...importing, query: importQuery, answers: { 200: object({ id: string }) } },
    'GET /async/task/:id': orMissing(gives(ref('Task'))),
    'POST /async/task/:id/cancel': orMissing(done),
    'GET /data/import/status': gives(ref('ImportStatus')),
    'GET /data/export': gives(asFile(ref('ExportDocument')), exportQuery),
    'POST /data/export': orMissing({
      query: exportQuery,
      request: names,
      answers: { 200: asFile(ref('ExportDocument')) },
    }),
    'GET /v2/data/export': gives(bytes, exportQuery),
    'POST /v2/data/import': { ...importing, ...keptDone },
    'POST /ruleset/import': { ...importing, ...keptDone },
    'POST /ruleset/export': gives(asFile(ref('Ruleset')), exportQuery),
  },
  {
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
  },
);
