/** Common checkpoints of rules that others are divided into: orders to their data planes, and what these tell. */
import type { CommonCheckpoints, CommonStep, KeptNumbers } from '../../model/common-state.js';
import type { CommonNotice } from '../link/protocol.js';
import type { Planes } from '../planes/planes.js';
import type { Supervisor } from '../planes/supervisor.js';
import type { CheckpointFolders } from '../props/checkpoint-folders.js';
import type { Entry } from './rule-entry.js';
import type { RuleLives } from './rule-lives.js';

export class DividedRules implements CommonCheckpoints {
  onNews: CommonCheckpoints['onNews'];

  constructor(
    private readonly entryOf: (id: string) => Entry | undefined,
    private readonly lives: RuleLives,
    private readonly planes: Planes,
    private readonly folders: CheckpointFolders,
  ) {}

  kept(ids: readonly string[], by: string): Promise<KeptNumbers | undefined> {
    const folders = ids.flatMap((id) => this.folders.of(id) ?? []);
    if (folders.length < ids.length) return Promise.resolve({ newest: 0, last: 0, refusals: [] });
    return this.planes.first.askAnyway('keptNumbers', folders, by);
  }

  isKept(id: string): boolean {
    const entry = this.entryOf(id);
    return entry !== undefined && this.folders.orderOf(entry.definition) !== undefined;
  }

  order(ids: readonly string[], step: CommonStep, number: number, isLast: boolean): void {
    const runs = new Map<Supervisor, number[]>();
    for (const id of ids) {
      const { plane, run } = this.entryOf(id) ?? {};
      if (plane !== undefined && run !== undefined) runs.set(plane, [...(runs.get(plane) ?? []), run]);
    }
    for (const [plane, some] of runs) plane.command({ kind: 'common', runs: some, step, number, isLast });
  }

  isSetBack(id: string): boolean {
    const entry = this.entryOf(id);
    return entry !== undefined && this.lives.isSetBack(entry);
  }

  noticed({ run, news }: CommonNotice): void {
    const entry = this.lives.ofRun(run);
    if (entry !== undefined) this.onNews?.(entry.definition.id, news);
  }
}
