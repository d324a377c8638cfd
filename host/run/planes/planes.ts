/** The data planes of an engine, each made when a rule needs it, and which of them a rule runs in. */
import type { PlacedParts } from '../link/protocol.js';
import type { AnswerTo, ArgsOf, Question } from '../link/questions.js';
import type { Decision, Division } from './placement/division.js';
import type { Supervisor } from './supervisor.js';

/** Where something runs; `moved` are others that are to run elsewhere from now on. */
interface Place {
  readonly plane: Supervisor;
  readonly moved: readonly string[];
}

export class Planes {
  readonly #made: (Supervisor | undefined)[] = [];
  /** Number of starts of many rules under way: of the server, and after each loss of a plane. */
  #starting = 0;

  /** @param division left out with one data plane, where nothing is to be decided */
  constructor(
    private readonly make: (number: number) => Supervisor,
    readonly division?: Division,
  ) {}

  /** Number of data planes, made or not. */
  get count(): number {
    return this.division?.count ?? 1;
  }

  /** Many rules start, or the last of them was sent; each begin has its end. */
  startsAll(isBegin: boolean): void {
    this.#starting += isBegin ? 1 : -1;
    for (const plane of this.all) plane.command({ kind: 'startAll', isMoreComing: this.#starting > 0 });
  }

  /** Data planes made so far. */
  get all(): readonly Supervisor[] {
    return this.#made.filter((plane) => plane !== undefined);
  }

  /** The data plane of lookup tables that are kept, of portable plugins, and of all rules when it is the only one. */
  get first(): Supervisor {
    return this.at(0);
  }

  /** The data plane of a number, made if it is not yet. */
  at(number: number): Supervisor {
    let plane = this.#made[number];
    if (plane === undefined) {
      plane = this.make(number);
      this.#made[number] = plane;
      if (this.#starting > 0) plane.command({ kind: 'startAll', isMoreComing: true });
    }
    return plane;
  }

  /**
   * The data plane that a rule is to run in, with others that are to leave theirs since the rule has something in
   * common with them.
   */
  place(id: string, parts: PlacedParts): Place {
    return this.#placeOf(parts, this.division?.place(id, parts));
  }

  /** The data plane of a lookup table that is kept. */
  placeTable(id: string, parts: PlacedParts): Place {
    return this.#placeOf(parts, this.division?.placeTable(id, parts));
  }

  #placeOf(parts: PlacedParts, { number, moved }: Decision = { number: 0, moved: [] }): Place {
    const plane = this.at(number);
    this.division?.exchanges.joinFor(parts, plane);
    return { plane, moved };
  }

  /** The thread of a data plane has ended. */
  lost(plane: Supervisor): void {
    this.division?.exchanges.lost(plane);
    this.division?.handOvers.lost(plane);
  }

  /** Puts a question to each; with the answers. */
  ask<Q extends Question>(question: Q, ...args: ArgsOf<Q>): Promise<[plane: Supervisor, answer: AnswerTo<Q>][]> {
    return Promise.all(
      this.all.map(async (plane): Promise<[Supervisor, AnswerTo<Q>]> => [plane, await plane.ask(question, ...args)]),
    );
  }

  /** Ends them within the time given. */
  async close(timeoutMs: number): Promise<void> {
    this.division?.handOvers.close();
    await Promise.all(this.all.map((plane) => plane.close(timeoutMs)));
  }
}
