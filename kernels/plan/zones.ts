/** Time zones as the kernel knows them: by numbers of this process, 0 is UTC. */

const names = ['UTC'];

/** Number of the zone. */
export function zoneNumber(name: string): number {
  const known = names.indexOf(name);
  return known >= 0 ? known : names.push(name) - 1;
}

/** Name of a zone by its number. */
export function zoneOf(number: number): string {
  return names[number] ?? 'UTC';
}
