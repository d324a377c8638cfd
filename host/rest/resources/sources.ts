/** Routes of streams and tables: the same for both. */
import type { SourceService } from '../../services/sources/sources.js';
import { type Contract, changed, gives, keptDone, made, names, orMissing, ref } from '../route/contract.js';
import { defineResource, type RestRequest, type Route } from '../route/route.js';

/** The routes of one kind; `filter` is what the query of the lists may name. */
function routesOf(
  kind: 'stream' | 'table',
  filter: Contract['query'] = {},
): readonly Route<{ readonly sources: SourceService }>[] {
  const wanted = ({ query }: RestRequest) => ('kind' in filter ? query.kind : undefined);
  return [
    {
      method: 'POST',
      path: `/${kind}s`,
      doc: 'Runs a stream or table statement',
      status: 201,
      contract: made(ref('Statement')),
      handle: (request, { sources }) => sources.execute(kind, request.text('sql')),
    },
    {
      method: 'GET',
      path: `/${kind}s`,
      doc: 'Names',
      contract: gives(names, filter),
      handle: (request, { sources }) => sources.names(kind, wanted(request)),
    },
    {
      method: 'GET',
      path: `/${kind}details`,
      doc: 'Names, types, formats',
      contract: gives(ref('StreamDetails'), filter),
      handle: (request, { sources }) => sources.details(kind, wanted(request)),
    },
    {
      method: 'GET',
      path: `/${kind}s/:id`,
      doc: 'Columns and options',
      contract: gives(ref('StreamDescription')),
      handle: (request, { sources }) => sources.describe(kind, request.id()),
    },
    {
      method: 'GET',
      path: `/${kind}s/:id/schema`,
      doc: 'Columns by name',
      contract: gives(ref('StreamSchema')),
      handle: (request, { sources }) => sources.schema(kind, request.id()),
    },
    {
      method: 'PUT',
      path: `/${kind}s/:id`,
      doc: `Replaces the ${kind}, or creates it`,
      contract: changed(ref('Statement')),
      handle: (request, { sources }) => sources.replace(kind, request.id(), request.text('sql')),
    },
    {
      method: 'DELETE',
      path: `/${kind}s/:id`,
      doc: `Drops the ${kind}`,
      contract: orMissing({ ...keptDone, query: { force: 'true drops it although rules use it' } }),
      handle: (request, { sources }) => sources.drop(kind, request.id(), request.flag('force')),
    },
  ];
}

export const sources = defineResource({
  routes: [...routesOf('stream'), ...routesOf('table', { kind: 'scan or lookup' })],
  schemas: async () => (await import('../schemas/sources.js')).schemas,
});
