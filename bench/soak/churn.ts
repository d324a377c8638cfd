/** Rules that come and go: which change comes next, the same for the same seed, and the requests that make it. */
import { rmSync } from 'node:fs';
import { random } from '../workloads/workload.js';
import { type Kind, kinds, type Request, type Site } from './rules.js';

export type Change = 'create' | 'update' | 'restart' | 'stop and start' | 'delete';

interface Living {
  readonly id: string;
  readonly kind: Kind;
}

/** Changes of a rule that is there; deletes are as many as creations in the long run. */
const changes: readonly Change[] = ['update', 'update', 'restart', 'stop and start', 'delete', 'delete'];
/** Failures that are told in full. */
const maxExamples = 5;

export class Churn {
  readonly #next: () => number;
  readonly #living: Living[] = [];
  readonly counts: Record<string, number> = {};
  readonly failures: string[] = [];
  failed = 0;
  #made = 0;

  constructor(
    private readonly send: (request: Request) => Promise<unknown>,
    private readonly site: Site,
    private readonly options: { readonly rules: number; readonly seed: number },
  ) {
    this.#next = random(options.seed ^ 0x50a4);
  }

  get living(): number {
    return this.#living.length;
  }

  /** Makes one change. */
  async change(): Promise<void> {
    const room = this.options.rules - this.#living.length;
    const isMaking = this.#living.length === 0 || (room > 0 && this.#next() < 0.5);
    if (isMaking) return this.#create();
    const one = this.#living[Math.floor(this.#next() * this.#living.length)]!;
    const change = changes[Math.floor(this.#next() * changes.length)]!;
    return change === 'delete' ? this.#remove(one) : this.#alter(one, change);
  }

  async #create(): Promise<void> {
    const n = this.#made++;
    // All kinds come equally often.
    const kind = kinds[n % kinds.length]!;
    const one = { id: `churn_${n}`, kind };
    this.#living.push(one);
    const rule = kind.rule(one.id, n, this.site);
    await this.#all('create', [...(kind.before?.(one.id) ?? []), ['POST', '/rules', rule]]);
  }

  #alter({ id, kind }: Living, change: Change): Promise<void> {
    if (change === 'update') {
      const n = Math.floor(this.#next() * 1000);
      return this.#all(change, [['PUT', `/rules/${id}`, kind.rule(id, n, this.site)]]);
    }
    if (change === 'restart') return this.#all(change, [['POST', `/rules/${id}/restart`]]);
    return this.#all(change, [
      ['POST', `/rules/${id}/stop`],
      ['POST', `/rules/${id}/start`],
    ]);
  }

  async #remove(one: Living): Promise<void> {
    const { id, kind } = one;
    this.#living.splice(this.#living.indexOf(one), 1);
    await this.#all('delete', [['DELETE', `/rules/${id}`], ...(kind.after?.(id) ?? [])]);
    rmSync(`${this.site.outFolder}/${id}.lines`, { force: true });
  }

  /** Removes all rules that are left. */
  async clear(): Promise<void> {
    for (const one of [...this.#living]) await this.#remove(one);
  }

  async #all(change: Change, requests: readonly Request[]): Promise<void> {
    this.counts[change] = (this.counts[change] ?? 0) + 1;
    for (const request of requests) {
      try {
        await this.send(request);
      } catch (error) {
        this.failed++;
        if (this.failures.length < maxExamples)
          this.failures.push(`${request[0]} ${request[1]}: ${(error as Error).message}`);
      }
    }
  }
}
