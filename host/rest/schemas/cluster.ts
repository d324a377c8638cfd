/** Schemas that the contracts of cluster refer to; read with the OpenAPI document. */
import { boolean, integer, list, object, type Schema, string } from '../route/contract.js';

export const schemas: Readonly<Record<string, Schema>> = {
  Cluster: object({
    cluster: string,
    node: string,
    natsAway: string,
    hasLease: boolean,
    hasKey: boolean,
    sealed: list(string),
    nodes: list(
      object({ name: string, url: string, since: integer, isDraining: boolean, 'reason?': string, rules: integer }),
    ),
    unplaced: list(string),
    'leases?': list(object({ rule: string, node: string, revision: integer })),
  }),
};
