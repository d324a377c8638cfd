/** Commands for the nodes of a cluster. */
import type { Call, Command } from './command.js';
import { table } from './print.js';

interface Shown {
  readonly cluster: string;
  readonly node: string;
  readonly natsAway: string;
  readonly hasLease: boolean;
  readonly unplaced: readonly string[];
  readonly sealed: readonly string[];
  readonly nodes: readonly Readonly<Record<string, unknown>>[];
}

async function showCluster(call: Call): Promise<number> {
  const answer = await call.client.send('GET', '/cluster');
  const shown = answer.json as Shown | undefined;
  if (shown === undefined) {
    call.print(answer);
    return 0;
  }
  const { cluster, node, natsAway, hasLease, unplaced, sealed } = shown;
  const isWell = hasLease && natsAway === '' && unplaced.length === 0 && sealed.length === 0;
  if (call.isJson) call.print(answer);
  else {
    const rows = shown.nodes.map((one) => ({ ...one, state: stateOf(one) }));
    const remarks = [
      natsAway === '' ? '' : `NATS is away: ${natsAway}`,
      hasLease ? '' : `node ${node} has no lease: it runs no rules`,
      unplaced.length === 0 ? '' : `no node runs ${unplaced.join(', ')}`,
      sealed.length === 0 ? '' : `closed to node ${node}, which lacks the key: ${sealed.join(', ')}`,
    ].filter((line) => line !== '');
    const text = [`cluster ${cluster}, as node ${node} sees it`, ...remarks].join('\n');
    call.io.out(`${text}\n${table(rows, ['name', 'url', 'rules', 'state'])}`);
  }
  return isWell ? 0 : 1;
}

function stateOf({ isDraining, reason }: Readonly<Record<string, unknown>>): string {
  if (isDraining !== true) return 'runs';
  return typeof reason === 'string' ? `drains: ${reason}` : 'drains';
}

async function drain(call: Call, method: 'POST' | 'DELETE'): Promise<number> {
  const given = call.arg('name');
  const name = given === '' ? ((await call.client.send('GET', '/cluster')).json as Shown).node : given;
  call.print(await call.client.send(method, `/cluster/nodes/${encodeURIComponent(name)}/drain`));
  return 0;
}

const nameArg = { name: 'name', isOptional: true };

export const clusterCommands: readonly Command[] = [
  { path: 'show cluster', doc: 'list the nodes; exit code 1 when something is not well', run: showCluster },
  {
    path: 'node drain',
    args: [nameArg],
    doc: 'move the rules of a node, by default that of the server, to the others',
    run: (call) => drain(call, 'POST'),
  },
  {
    path: 'node resume',
    args: [nameArg],
    doc: 'let a node that was drained take rules again',
    run: (call) => drain(call, 'DELETE'),
  },
];
