/** Which rules are traced; the code that records their traces is read with the first of them. */
import type { Kernel } from '../../../../kernels/api.js';
import { lazy } from '../../../base/structures/lazy.js';
import type { RuleStart, TraceNotice, TraceOrder } from '../../link/protocol.js';
import type { RunningRule } from '../running/running.js';
import type { TraceRecorder } from './trace-recorder.js';

export interface TracingHost {
  readonly kernel: Kernel;
  /** Rules that are about to run. */
  readonly starting: { get(run: number): { readonly start: RuleStart } | undefined };
  readonly options: { tell(notice: TraceNotice): void };
}

export class Tracing {
  /** None before the first order. */
  recorder: TraceRecorder | undefined;
  #loading: Promise<void> | undefined;
  readonly #loaded = lazy(async () => {
    const { TraceRecorder } = await import('./trace-recorder.js');
    const { host } = this;
    this.recorder = new TraceRecorder(
      () => host.kernel,
      (trace) => host.options.tell({ kind: 'trace', trace }),
    );
  });

  constructor(
    private readonly host: TracingHost,
    private readonly ruleOf: (run: number) => RunningRule | undefined,
  ) {}

  /** To be awaited before the recorder is told of a rule. */
  load(): Promise<void> {
    this.#loading = this.#loaded();
    return this.#loading;
  }

  /** Follows a run from now on, or no longer (null). */
  async follow(run: number, order: TraceOrder | null): Promise<void> {
    await this.load();
    const starting = this.host.starting.get(run);
    if (starting !== undefined) starting.start.trace = order ?? undefined;
    const rule = this.ruleOf(run);
    if (rule !== undefined && !rule.isEnding) this.recorder?.set(rule, order);
  }

  /** Whether a run is followed, after the orders given before. */
  async isTraced(run: number): Promise<boolean> {
    await this.#loading;
    const rule = this.ruleOf(run);
    return rule !== undefined && this.recorder?.follows(rule) === true;
  }
}
