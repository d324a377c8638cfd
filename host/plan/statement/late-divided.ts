/** The planner of rules that divide rows, whose code is read where rules are divided among data planes. */
import type { dividedRoots } from './divided.js';

type Dividing = typeof dividedRoots;

let dividing: Dividing | undefined;

export function setDividing(found: Dividing): void {
  dividing = found;
}

export function dividingOf(): Dividing {
  if (dividing === undefined) throw new Error('the planner of divided rules was not made ready');
  return dividing;
}
