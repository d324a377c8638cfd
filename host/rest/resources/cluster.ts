/** Routes of the cluster. */
import type { ClusterService } from '../../services/server/cluster.js';
import { gives, keptDone, orMissing, ref } from '../route/contract.js';
import { defineResource } from '../route/route.js';

export const cluster = defineResource<{ readonly cluster: () => Promise<ClusterService> }>({
  routes: [
    {
      method: 'GET',
      path: '/cluster',
      doc: 'The nodes of the cluster and what they run',
      contract: { ...gives(ref('Cluster'), { leases: 'true adds the node of each rule' }), errors: [404] },
      handle: async (request, { cluster }) => (await cluster()).status(request.flag('leases')),
    },
    {
      method: 'POST',
      path: '/cluster/nodes/:name/drain',
      doc: 'Has a node give its rules to the others',
      contract: orMissing(keptDone),
      handle: async (request, { cluster }) => (await cluster()).drain(request.params.name ?? ''),
    },
    {
      method: 'DELETE',
      path: '/cluster/nodes/:name/drain',
      doc: 'Has a node take rules again',
      contract: orMissing(keptDone),
      handle: async (request, { cluster }) => (await cluster()).resume(request.params.name ?? ''),
    },
  ],
  schemas: async () => (await import('../schemas/cluster.js')).schemas,
});
