/** Fuel for work of the engine when a guest calls it: the guest's instructions do not cover that work. */

/** Fuel left for the current call. */
export interface Fuel {
  /** Uses up that many units; throws when the call has no more. */
  take(units: bigint): void;
}

/** Fuel for a call from the guest to the engine. */
export const fuelOfCall = 2000;
/** Fuel for a call to the engine that only looks something up. */
export const fuelOfShortCall = 500;

/** Uses up that many units of fuel; the call ends when none is left. A byte that is copied or read costs one. */
export function spend(fuel: Fuel, units: number): void {
  fuel.take(BigInt(Math.ceil(units)));
}
