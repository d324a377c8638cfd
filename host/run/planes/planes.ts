/** The data planes of an engine, made when a rule needs one. All rules run in one for now. */
import type { AnswerTo, ArgsOf, Question } from '../link/questions.js';
import type { Supervisor } from './supervisor.js';

export class Planes {
  #made: readonly Supervisor[] = [];

  /** Number of starts of many rules under way: of the server, and after each loss of a plane. */
  #starting = 0;

  constructor(private readonly make: () => Supervisor) {}

  /** Many rules start, or the last of them was sent; each begin has its end. */
  startsAll(isBegin: boolean): void {
    this.#starting += isBegin ? 1 : -1;
    for (const plane of this.#made) plane.command({ kind: 'startAll', isMoreComing: this.#starting > 0 });
  }

  /** Data planes made so far. */
  get all(): readonly Supervisor[] {
    return this.#made;
  }

  /** The data plane that the next rule is to run in: rules that share a stream have to be together. */
  get next(): Supervisor {
    let [plane] = this.#made;
    if (plane === undefined) {
      plane = this.make();
      this.#made = [plane];
      if (this.#starting > 0) plane.command({ kind: 'startAll', isMoreComing: true });
    }
    return plane;
  }

  /** Puts a question to each; with the answers. */
  ask<Q extends Question>(question: Q, ...args: ArgsOf<Q>): Promise<[plane: Supervisor, answer: AnswerTo<Q>][]> {
    return Promise.all(
      this.#made.map(async (plane): Promise<[Supervisor, AnswerTo<Q>]> => [plane, await plane.ask(question, ...args)]),
    );
  }

  /** Ends them within the time given. */
  async close(timeoutMs: number): Promise<void> {
    await Promise.all(this.#made.map((plane) => plane.close(timeoutMs)));
  }
}
