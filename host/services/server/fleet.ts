/** The servers that the operator of this one has listed, as its clients may see them: their tokens stay here. */
import { type Shown, shownOf } from '../../fleet/ask.js';
import { type Chosen, chosenOf, type FleetServer, readFleet } from '../../fleet/list.js';
import { fleetDifferences, fleetRules, fleetStatus } from '../../fleet/look.js';
import { type Pushed, push } from '../../fleet/push.js';
import { textOf, textsOf } from '../body/fields.js';
import { bodyErrors } from '../errors/body.js';

type Body = Readonly<Record<string, unknown>>;

export class FleetService {
  /** @param file the list, read for each request: a change of it needs no restart */
  constructor(private readonly file: string) {}

  async list(): Promise<Shown[]> {
    return (await readFleet(this.file)).map(shownOf);
  }

  async status(group?: string) {
    return fleetStatus(await this.#chosen({ group }));
  }

  async rules(group?: string) {
    return fleetRules(await this.#chosen({ group }));
  }

  async differences(group?: string) {
    return fleetDifferences(await this.#chosen({ group }));
  }

  async push(body: Body, isDryRun: boolean): Promise<Pushed> {
    const { servers, skipAway = false } = body;
    if (typeof skipAway !== 'boolean') throw bodyErrors.notBoolean('skipAway');
    const names = servers === undefined ? undefined : textsOf(body, 'servers');
    const chosen = { names, group: textOf(body, 'group') || undefined };
    return push(await this.#chosen(chosen), textOf(body, 'content'), { isDryRun, skipsAway: skipAway });
  }

  async #chosen(chosen: Chosen): Promise<readonly FleetServer[]> {
    return chosenOf(await readFleet(this.file), chosen);
  }
}
