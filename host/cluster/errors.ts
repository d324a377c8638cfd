/** Refusals of a cluster. */
import { errorTable } from '../base/errors.js';

export const clusterErrors = errorTable('cluster', {
  setting: ['config', (name: string, reason: string) => `cluster.${name}: ${reason}`],
  connect: ['config', (servers: string, reason: string) => `the cluster at ${servers} can't be joined: ${reason}`],
  absent: ['connection', (servers: string, reason: string) => `the cluster at ${servers} can't be joined: ${reason}`],
  waits: ['connection', (reason: string) => `this node waits for NATS: ${reason}`],
  stopped: ['stopping', 'the server was ended before NATS was there'],
  noPackage: ['config', (name: string) => `--cluster needs the package ${name} (npm install ${name})`],
  oldServer: [
    'config',
    (version: string, least: string) => `NATS ${version} is too old for a cluster: it needs ${least} or later`,
  ],
  noBucket: ['connection', (name: string, reason: string) => `the bucket ${name} of NATS can't be opened: ${reason}`],
  bucket: ['config', (name: string, reason: string) => `the bucket ${name} of NATS can't be opened: ${reason}`],
  sameName: [
    'config',
    (name: string) => `a node named ${name} runs in the cluster already: give this one another name (cluster.node)`,
  ],
  otherKey: ['config', 'cluster.key is another key than the one that the definitions are encrypted with'],
  away: ['storage', (reason: string) => `the change could not be saved: NATS is away (${reason})`],
  notSaved: ['storage', (reason: string) => `the change could not be saved: ${reason}`],
  changed: [
    'state',
    (what: string) => `${what} was changed at another node at the same time: read it again, and repeat the change`,
  ],
  tooLong: ['general', (what: string, bytes: number) => `the name of ${what} is too long for NATS: ${bytes} bytes`],
  filesKey: [
    'state',
    (what: string) =>
      `the files of ${what} are encrypted in NATS, and this node has no key for that: set cluster.key or keyFile`,
  ],
  notShared: ['storage', (what: string, reason: string) => `${what} could not be brought to NATS: ${reason}`],
  noKey: [
    'state',
    (what: string) =>
      `${what} has secrets, and this node has no key to encrypt them with: set cluster.key or cluster.keyFile`,
  ],
  sealed: [
    'state',
    (what: string) =>
      `${what} is encrypted with the key of the cluster, which this node does not have: set cluster.key or keyFile`,
  ],
  damaged: ['general', (what: string) => `${what} can't be decrypted: the entry in NATS is damaged`],
  noLease: ['state', (id: string) => `this node has not the lease of rule ${id} any more`],
  noStates: ['storage', (id: string, reason: string) => `the state of rule ${id} is not in NATS: ${reason}`],
  notFetched: ['storage', (id: string, reason: string) => `the state of rule ${id} can't be got from NATS: ${reason}`],
  elsewhere: ['state', (id: string, node: string, what: string) => `rule ${id} runs on node ${node}: ${what} there`],
  silent: ['connection', (node: string, reason: string) => `node ${node} does not answer: ${reason}`],
  refused: ['general', (reason: string) => reason],
  noNode: ['notFound', (name: string) => `node ${name} is not found`],
  alone: ['notFound', 'this server is not part of a cluster: it was started without --cluster'],
});
