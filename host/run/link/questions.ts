/**
 * Questions of the control plane to a data plane. A further question needs a method here, a line in the table below it,
 * and the answer in the data plane (data-plane.ts); all travel in the same way.
 */
import { KernelError } from '../../../kernels/memory/error.js';
import { reasonOf } from '../../base/errors.js';
import type { KeptNumbers } from '../../model/common-state.js';
import type {
  ExchangeFigures,
  FailedRow,
  PackedFigures,
  RuleLatencies,
  RuleTraffic,
  RunStatus,
  RunTrouble,
  TableRow,
  ThreadMemory,
} from '../../model/figures.js';
import type { PortableCode, PortableUse } from '../../plugins/portable/code.js';
import type { ServiceFigures } from '../../plugins/service-figures.js';
import type { AheadOfRules, MovingRun, RowsAhead } from './moving.js';

/** A value of each run. */
export type ByRun<T> = [run: number, value: T][];

/** Arguments and answer of each question. */
export interface Questions {
  /** Status of a run; undefined when it is gone. */
  status(run: number): RunStatus | undefined;
  /** Figures of those of the runs that are there. */
  figures(runs: readonly number[]): PackedFigures;
  /** Rows of the scan tables of a run; none when it does not run. */
  tableRows(run: number): TableRow[];
  /** The last rows since `since` (epoch ms) at which operators of a run failed, the newest first. */
  failedRows(run: number, since: number): FailedRow[];
  /** Lets a source of a run go on from a position, whoever else reads it; answers with the reason when it can't. */
  resetSource(run: number, stream: string, position: unknown): string | undefined;
  /**
   * Holds the stream that a run hands to other data planes; answers when all that was read is worked on there. False:
   * it can't be held, since one of the rules reads another source of that name.
   */
  hold(run: number, rules: readonly number[]): boolean;
  /** Brings the rows of runs with much state to disk while they go on, since they are to move; where those are. */
  readyToMove(runs: readonly MovingRun[]): RowsAhead[];
  /** Reads what rules need that are about to come from another data plane. */
  readAhead(parts: AheadOfRules): void;
  /** Whether the input of a run is traced; answered when orders given before are carried out. */
  traced(run: number): boolean;
  /** Looks for the checkpoints that rules have in common, by their folders; undefined when it can't be told. */
  keptNumbers(folders: readonly string[], by: string): KeptNumbers | undefined;
  /** Past and present faults of each run that has any. */
  troubles(): ByRun<RunTrouble> | undefined;
  /** CPU time of each run since its start, µs. */
  cpuTimes(): ByRun<number>;
  /** Messages of each run since its start. */
  traffic(): ByRun<RuleTraffic>;
  /** Memory that each run holds, bytes. */
  memory(): ByRun<number>;
  /** Memory of the thread and its kernel, whoever holds it; none when its kernel is broken. */
  threadMemory(): ThreadMemory | undefined;
  /** What goes to other data planes. */
  exchanges(): ExchangeFigures[];
  /** Times that the operators of each run took. */
  latencies(): RuleLatencies[];
  /** State of the portable plugins that were started. */
  portableStates(): PortableUse[];
  /** Figures of the interfaces of services that were called. */
  serviceFigures(): ServiceFigures[];
  /** Functions of a portable plugin that take groups, or why it does not tell. */
  portableAggregates(code: PortableCode): string[] | { readonly reason: string };
}

export type Question = keyof Questions;
export type ArgsOf<Q extends Question> = Parameters<Questions[Q]>;
export type AnswerTo<Q extends Question> = ReturnType<Questions[Q]>;

/** A question on its way; the answer to it has the same number. */
export interface Ask {
  readonly kind: 'ask';
  readonly number: number;
  readonly question: Question;
  readonly args: readonly unknown[];
}

export interface Answer {
  readonly kind: 'answer';
  readonly number: number;
  readonly value: unknown;
  /** Why there is no value. */
  readonly error?: string;
}

interface Terms<Q extends Question> {
  /** The answer when none comes: there is no thread, it died, it failed at it, or it was at other work for too long. */
  readonly otherwise: AnswerTo<Q>;
  /** Longest wait for the answer, ms. */
  readonly timeoutMs: number;
}

const usualMs = 3000;
const longestMs = 2 ** 31 - 1;

const terms: { readonly [Q in Question]: Terms<Q> } = {
  status: { otherwise: undefined, timeoutMs: usualMs },
  figures: { otherwise: { names: [], runs: [] }, timeoutMs: usualMs },
  tableRows: { otherwise: [], timeoutMs: usualMs },
  failedRows: { otherwise: [], timeoutMs: usualMs },
  resetSource: { otherwise: 'the data plane did not answer', timeoutMs: usualMs },
  // What was read is worked on meanwhile.
  hold: { otherwise: false, timeoutMs: 10_000 },
  // Large states are written and read.
  readyToMove: { otherwise: [], timeoutMs: 60_000 },
  readAhead: { otherwise: undefined, timeoutMs: 60_000 },
  traced: { otherwise: false, timeoutMs: usualMs },
  // Large states are read from end to end.
  keptNumbers: { otherwise: undefined, timeoutMs: longestMs },
  troubles: { otherwise: undefined, timeoutMs: usualMs },
  cpuTimes: { otherwise: [], timeoutMs: usualMs },
  traffic: { otherwise: [], timeoutMs: usualMs },
  memory: { otherwise: [], timeoutMs: usualMs },
  threadMemory: { otherwise: undefined, timeoutMs: usualMs },
  exchanges: { otherwise: [], timeoutMs: usualMs },
  latencies: { otherwise: [], timeoutMs: usualMs },
  portableStates: { otherwise: [], timeoutMs: usualMs },
  serviceFigures: { otherwise: [], timeoutMs: usualMs },
  // The start of a plugin has bounds of its own.
  portableAggregates: { otherwise: { reason: 'the data plane did not answer' }, timeoutMs: longestMs },
};

/** Who answers: the data plane. */
export type Respondent = {
  [Q in Question]: (...args: ArgsOf<Q>) => AnswerTo<Q> | Promise<AnswerTo<Q>>;
};

/**
 * Puts a question to those who answer; what fails is answered with the reason. Throws when the kernel itself has
 * failed.
 */
export async function answerTo(ask: Ask, respondent: Respondent): Promise<Answer> {
  const { number, question, args } = ask;
  try {
    const answer = respondent[question] as (...args: readonly unknown[]) => unknown;
    return { kind: 'answer', number, value: await answer.apply(respondent, [...args]) };
  } catch (error) {
    if (error instanceof KernelError && error.isFatal) throw error;
    return { kind: 'answer', number, value: undefined, error: reasonOf(error) };
  }
}

/** Questions under way, by their numbers. */
export class OpenQuestions {
  readonly #resolves = new Map<number, (answer: Answer | undefined) => void>();
  #last = 0;

  /** @param failed hears of questions that were answered with an error */
  constructor(private readonly failed: (question: Question, reason: string) => void) {}

  /** Sends a question; resolves with the answer, or with what its terms say when it failed or there is none in time. */
  ask<Q extends Question>(send: (ask: Ask) => void, question: Q, args: ArgsOf<Q>): Promise<AnswerTo<Q>> {
    const { otherwise, timeoutMs } = terms[question];
    const number = ++this.#last;
    return new Promise((resolve) => {
      const end = (answer: Answer | undefined) => {
        clearTimeout(timer);
        this.#resolves.delete(number);
        if (answer?.error !== undefined) this.failed(question, answer.error);
        resolve(answer === undefined || answer.error !== undefined ? otherwise : (answer.value as AnswerTo<Q>));
      };
      const timer = setTimeout(end, timeoutMs, undefined);
      this.#resolves.set(number, end);
      send({ kind: 'ask', number, question, args });
    });
  }

  /** Takes an answer; one that comes too late finds nobody who waits for it. */
  take(answer: Answer): void {
    this.#resolves.get(answer.number)?.(answer);
  }

  /** Whoever could have answered is gone. */
  giveUp(): void {
    for (const end of [...this.#resolves.values()]) end(undefined);
  }
}

/** The answer to a question that nobody is there to be asked. */
export function unasked<Q extends Question>(question: Q): AnswerTo<Q> {
  return terms[question].otherwise;
}
