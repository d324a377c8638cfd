/** Nodes of a cluster over a NATS server of their own, and what runs on them. */
import { randomBytes } from 'node:crypto';
import { eventually, startServer, type TestServer } from '../harness.js';
import type { TestNats } from './nats.js';

/** Names and shape of what `GET /cluster` answers. */
export interface ClusterAnswer {
  readonly natsAway: string;
  readonly hasLease: boolean;
  readonly hasKey: boolean;
  readonly sealed: readonly string[];
  readonly unplaced: readonly string[];
  readonly nodes: readonly {
    readonly name: string;
    readonly rules: number;
    readonly isDraining: boolean;
    readonly reason?: string;
  }[];
  readonly leases?: readonly { readonly rule: string; readonly node: string; readonly revision: number }[];
}

export const clusterKey = randomBytes(32).toString('base64');

/** Starts a node and waits until it has joined. */
export async function startNode(
  nats: TestNats,
  node: string,
  env: Record<string, string> = {},
  data?: string,
): Promise<TestServer> {
  const server = await startServer({
    ...(data !== undefined && { data }),
    args: ['--cluster', nats.url],
    env: { KUIPER__CLUSTER__NODE: node, KUIPER__CLUSTER__KEY: clusterKey, ...env },
  });
  await eventually(`${node} in the cluster`, async () => (await clusterOf(server)).hasLease || undefined);
  return server;
}

export async function clusterOf(server: TestServer): Promise<ClusterAnswer> {
  return (await server.request('GET', '/cluster?leases=true')).json;
}

/** The node that has the lease of a rule, as a server sees it. */
export async function ownerOf(server: TestServer, rule: string): Promise<string | undefined> {
  return (await clusterOf(server)).leases?.find((lease) => lease.rule === rule)?.node;
}

/** Counts the rows that rules send for each number that is published: one for each place in which a rule runs. */
export class Rows {
  readonly #seen = new Map<string, number>();
  #next = 0;

  private constructor(private readonly nats: TestNats) {}

  static of(nats: TestNats): Rows {
    const rows = new Rows(nats);
    nats.client.subscribe('out', {
      callback: (_error, message) => {
        const { rule, n } = message.json<{ rule: string; n: number }>();
        const key = `${rule} ${n}`;
        rows.#seen.set(key, (rows.#seen.get(key) ?? 0) + 1);
      },
    });
    return rows;
  }

  /** Publishes a number; returns it. */
  send(): number {
    const n = this.#next++;
    this.nats.client.publish('in', JSON.stringify({ n }));
    return n;
  }

  count(rule: string, n: number): number {
    return this.#seen.get(`${rule} ${n}`) ?? 0;
  }

  /** Publishes numbers until a row of the rule comes for one; returns that number. */
  async until(rule: string): Promise<number> {
    return eventually(`a row of ${rule}`, async () => {
      const n = this.send();
      await new Promise((resolve) => setTimeout(resolve, 50));
      return this.count(rule, n) > 0 ? n : undefined;
    });
  }

  /** Most rows that came for one number. */
  most(rule: string): number {
    return Math.max(0, ...[...this.#seen].filter(([key]) => key.startsWith(`${rule} `)).map(([, count]) => count));
  }
}

/** Defines the stream of the numbers, and a rule that sends them on with its name. */
export async function defineNumbers(server: TestServer, nats: TestNats): Promise<void> {
  const sql = `CREATE STREAM numbers (n BIGINT) WITH (TYPE="nats", DATASOURCE="in", FORMAT="JSON", CONF_KEY="here")`;
  await done(server.request('PUT', '/metadata/sources/nats/confKeys/here', { server: nats.url }));
  await done(server.request('POST', '/streams', { sql }));
}

export async function defineRule(server: TestServer, nats: TestNats, id: string): Promise<void> {
  await done(
    server.request('POST', '/rules', {
      id,
      sql: `SELECT '${id}' AS rule, n FROM numbers`,
      actions: [{ nats: { server: nats.url, subject: 'out', sendSingle: true } }],
      options: { forceExitTimeout: '100ms' },
    }),
  );
}

async function done(answer: Promise<{ status: number; text: string }>): Promise<void> {
  const { status, text } = await answer;
  if (status >= 300) throw new Error(`${status}: ${text}`);
}
