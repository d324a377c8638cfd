/**
 * Numbers under which the kernel calls functions of users: beyond those of the built-in functions, none given twice.
 */
const first = 1 << 16;
const names: string[] = [];

export function newUserNumber(name: string): number {
  return first + names.push(name) - 1;
}

/** Notes the name of a function whose number another thread has given. */
export function nameUserNumber(number: number, name: string): void {
  names[number - first] = name;
}

export function isUserNumber(number: number): boolean {
  return number >= first;
}

/** Name of the function that got the number in this thread, undefined for any other number. */
export function userFunctionName(number: number): string | undefined {
  return names[number - first];
}
