/** Routes of imports and exports. */

import type { TaskService } from '../../services/server/tasks.js';
import { readImport } from '../../services/transfer/import-body.js';
import type { ExportedDocument, ImportRequest, TransferService } from '../../services/transfer/transfer.js';
import { requestErrors } from '../errors.js';
import { asFile, bytes, done, gives, keptDone, names, object, orMissing, ref, string } from '../route/contract.js';
import { defineResource, Reply, type RestRequest } from '../route/route.js';
import { warningHeader } from '../route/warnings.js';

const importing = { request: ref('ImportRequest'), requestIsOptional: false };
const importQuery = {
  partial: '1 keeps what the document does not name',
  dryRun: '1 changes nothing and tells what would be refused',
  stop: '1 ends the server afterwards',
  atomic: '1 changes nothing when an item is refused',
};
const exportQuery = { secrets: 'omit leaves passwords and keys out' };

/** A file for the client to keep. */
function attachment({ text, warnings }: ExportedDocument): Reply {
  const headers = { 'Content-Disposition': 'Attachment', ...warningHeader(warnings) };
  return new Reply(text, 200, 'application/octet-stream', headers);
}

/**
 * Whether an export is to be without secrets; anything but the known words is refused: nobody should get them by a
 * typo.
 */
function omitsSecrets({ query: { secrets }, mayChange }: RestRequest): boolean {
  if (secrets === 'omit') return true;
  const isWanted = secrets === undefined || secrets === '' || secrets === 'include';
  if (isWanted && mayChange) return false;
  // Passwords would open more than this server.
  if (isWanted) throw requestErrors.secretsForReading();
  throw requestErrors.badSecrets(JSON.stringify(secrets));
}

function importRequest(request: RestRequest): ImportRequest {
  return {
    isPartial: request.flag('partial'),
    isDryRun: request.strictFlag('dryRun'),
    isStrict: request.strictFlag('atomic'),
    isStopping: request.flag('stop'),
  };
}

export const transfer = defineResource<{
  readonly transfer: () => Promise<TransferService>;
  readonly tasks: () => Promise<TaskService>;
}>({
  routes: [
    {
      method: 'GET',
      path: '/data/export',
      doc: 'All definitions as JSON',
      contract: gives(asFile(ref('ExportDocument')), exportQuery),
      handle: async (request, { transfer }) => attachment(await (await transfer()).export(omitsSecrets(request))),
    },
    {
      method: 'POST',
      path: '/data/export',
      doc: 'Some rules with all they need, as JSON',
      reads: () => true,
      gate: 'none',
      contract: orMissing({
        query: exportQuery,
        request: names,
        answers: { 200: asFile(ref('ExportDocument')) },
      }),
      handle: async (request, { transfer }) =>
        attachment(await (await transfer()).exportRules(request.json(), omitsSecrets(request))),
    },
    {
      method: 'POST',
      path: '/data/import',
      doc:
        'Replaces all definitions, or adds to them (partial=1); atomic=1 takes all items or none, dryRun=1 only ' +
        'checks, stop=1 ends the server afterwards',
      gate: 'none',
      contract: { ...importing, query: importQuery, answers: { 200: ref('ImportResult') }, isKept: true },
      handle: async (request, { transfer }) => (await transfer()).import(request.object(), importRequest(request)),
    },
    {
      method: 'GET',
      path: '/data/import/status',
      doc: 'What the last import refused',
      contract: gives(ref('ImportStatus')),
      handle: async (_request, { transfer }) => (await transfer()).status(),
    },
    {
      method: 'POST',
      path: '/async/data/import',
      doc: 'As /data/import, in the background',
      gate: 'none',
      contract: { ...importing, query: importQuery, answers: { 200: object({ id: string }) } },
      handle: async (request, { transfer, tasks }) => {
        const body = request.object();
        // Errors of the request itself are answered here: they are no failure of a task.
        readImport(body);
        const wanted = importRequest(request);
        const background = await tasks();
        return {
          id: background.start('dataImport', async (signal) => (await transfer()).import(body, wanted, signal)),
        };
      },
    },
    {
      method: 'GET',
      path: '/async/task/:id',
      doc: 'State of a task in the background',
      contract: orMissing(gives(ref('Task'))),
      handle: async (request, { tasks }) => (await tasks()).get(request.id()),
    },
    {
      method: 'POST',
      path: '/async/task/:id/cancel',
      doc: 'Ends a task in the background',
      gate: 'none',
      contract: orMissing(done),
      handle: async (request, { tasks }) => (await tasks()).cancel(request.id()),
    },
    {
      method: 'GET',
      path: '/v2/data/export',
      doc: 'All definitions as YAML',
      contract: gives(bytes, exportQuery),
      handle: async (request, { transfer }) => attachment(await (await transfer()).exportYaml(omitsSecrets(request))),
    },
    {
      method: 'POST',
      path: '/v2/data/import',
      doc: 'Adds definitions from YAML, all or none; dryRun=1 only checks',
      gate: 'none',
      contract: { ...importing, query: { dryRun: '1 changes nothing' }, ...keptDone },
      handle: async (request, { transfer }) =>
        (await transfer()).importYaml(request.object(), request.strictFlag('dryRun')),
    },
    {
      method: 'POST',
      path: '/ruleset/export',
      doc: 'Streams, tables and rules as JSON',
      reads: () => true,
      gate: 'none',
      contract: gives(asFile(ref('Ruleset')), exportQuery),
      handle: async (request, { transfer }) =>
        attachment(await (await transfer()).exportRuleset(omitsSecrets(request))),
    },
    {
      method: 'POST',
      path: '/ruleset/import',
      doc: 'Adds streams, tables and rules whose names are free',
      gate: 'none',
      contract: { ...importing, ...keptDone },
      handle: async (request, { transfer }) => (await transfer()).importRuleset(request.object()),
    },
  ],
  schemas: async () => (await import('../schemas/transfer.js')).schemas,
});
