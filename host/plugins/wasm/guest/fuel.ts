/** Fuel for what the engine does when a guest calls it: the instructions of the guest don't tell. */

/** What the call under way may still run. */
export interface Fuel {
  /** Takes so much; throws when the call has no more. */
  take(units: bigint): void;
}

/** A call that leaves the guest. */
export const fuelOfCall = 2000;
/** One that only looks something up. */
export const fuelOfShortCall = 500;

/** Takes so much of the fuel; without any the call ends. A byte that is copied or read costs one. */
export function spend(fuel: Fuel, units: number): void {
  fuel.take(BigInt(Math.ceil(units)));
}
