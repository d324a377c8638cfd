/** Schemas that the contracts of fleet refer to; read with the OpenAPI document. */
import { boolean, integer, list, names, object, ref, type Schema, string } from '../route/contract.js';

const server = { name: string, url: string, groups: names };
const reached = list(object({ ...server, 'reason?': string }));
const difference = object({
  section: string,
  name: string,
  kind: { enum: ['new', 'changed', 'removed', 'same'] },
  before: string,
  after: string,
});
const pushStates = [
  ...['same', 'wouldChange', 'changed', 'untouched'],
  ...['refused', 'away', 'reverted', 'notReverted'],
];

export const schemas: Readonly<Record<string, Schema>> = {
  FleetStatus: list(object({ ...server, 'reason?': string, 'overview?': ref('Overview') })),
  FleetRules: object({
    servers: reached,
    rules: list(
      object({
        id: string,
        isSame: boolean,
        missing: names,
        on: list(object({ server: string, status: string, variant: integer })),
      }),
    ),
  }),
  FleetDifferences: object({
    servers: reached,
    items: list(
      object({
        section: string,
        name: string,
        variants: list(object({ servers: names, text: string })),
        missing: names,
      }),
    ),
    same: integer,
  }),
  FleetPush: object({ content: string, 'group?': string, 'servers?': names, 'skipAway?': boolean }),
  FleetPushed: object({
    outcome: { enum: ['dryRun', 'done', 'stopped', 'failed'] },
    servers: list(object({ ...server, state: { enum: pushStates }, 'reason?': string, differences: list(difference) })),
  }),
};
