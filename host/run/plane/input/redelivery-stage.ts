/** Takes messages out of the input that the broker sends again and that are here already. */
import type { Redeliveries } from '../../../connectors/messages/redeliveries.js';
import type { Barrier } from '../acknowledge/barrier.js';
import type { Input } from '../stage/input.js';
import { PassingStage } from '../stage/stage.js';

export class RedeliveryStage extends PassingStage<Input> {
  constructor(private readonly redeliveries: Redeliveries<Barrier>) {
    super();
  }

  write(input: Input): boolean {
    let isWellFormed = true;
    for (const bytes of this.redeliveries.sift(input.bytes)) {
      if (!this.next.write({ ...input, bytes })) isWellFormed = false;
    }
    return isWellFormed;
  }
}
