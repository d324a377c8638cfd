/** Definitions that are made, changed and deleted at any node while things go wrong; what was answered must stay. */
import { pause } from '../../process.js';
import type { ChaosNode } from './nodes.js';

const intervalMs = 200;
const requestMs = 4000;

export class Definitions {
  /** Versions that each may have, the acknowledged one first; null: it is not there. */
  readonly #versions = new Map<string, (number | null)[]>();
  #isEnding = false;
  #writing: Promise<void> | undefined;
  acknowledged = 0;
  refused = 0;
  #made = 0;

  constructor(
    private readonly nodes: readonly ChaosNode[],
    private readonly next: () => number,
  ) {}

  start(): void {
    this.#isEnding = false;
    this.#writing = this.#write();
  }

  async stop(): Promise<void> {
    this.#isEnding = true;
    await this.#writing;
  }

  async #write(): Promise<void> {
    while (!this.#isEnding) {
      await this.#writeOne();
      await pause(intervalMs);
    }
  }

  async #writeOne(): Promise<void> {
    const node = this.nodes[Math.floor(this.next() * this.nodes.length)] as ChaosNode;
    const id = this.#settled()[Math.floor(this.next() * 20)] ?? `d${++this.#made}`;
    const [before] = this.#versions.get(id) ?? [null];
    const version = before !== null && this.next() < 0.3 ? null : (before ?? 0) + 1;
    try {
      if (version === null) await node.engine.call('DELETE', `/rules/${id}`, undefined, requestMs);
      else await node.engine.call(...requestOf(id, version, before === null), requestMs);
      this.acknowledged++;
      this.#versions.set(id, [version]);
    } catch {
      // It may have been taken all the same, even later; nobody changes it any more.
      this.refused++;
      this.#versions.set(id, [before ?? null, version]);
    }
  }

  /** Those that are there for sure. */
  #settled(): string[] {
    return [...this.#versions].flatMap(([id, [version, ...more]]) =>
      version !== null && more.length === 0 ? [id] : [],
    );
  }

  /** Definitions that a node has not as they were acknowledged. */
  async missing(node: ChaosNode): Promise<string[]> {
    const wrong: string[] = [];
    const list = JSON.parse(await node.engine.call('GET', '/rules')) as { id: string }[];
    const there = new Set(list.map(({ id }) => id));
    for (const [id, possible] of this.#versions) {
      const found = there.has(id) ? await versionOf(node, id) : null;
      if (!possible.includes(found)) wrong.push(`${id} is ${found} at ${node.name}, not ${possible.join(' or ')}`);
    }
    return wrong;
  }

  /** Forgets those that are gone, or that nobody changes any more, so that a long run does not grow. */
  tidy(): void {
    const kept = new Set(this.#settled());
    for (const id of this.#versions.keys()) if (!kept.has(id)) this.#versions.delete(id);
  }
}

async function versionOf(node: ChaosNode, id: string): Promise<number> {
  const { sql } = JSON.parse(await node.engine.call('GET', `/rules/${id}`)) as { sql: string };
  return Number(/n > (\d+)/.exec(sql)?.[1] ?? -1);
}

function requestOf(id: string, version: number, isNew: boolean): [method: string, path: string, body: unknown] {
  const rule = { id, sql: `SELECT n FROM ticks WHERE n > ${version}`, actions: [{ nop: {} }], triggered: false };
  return isNew ? ['POST', '/rules', rule] : ['PUT', `/rules/${id}`, rule];
}
