/** Groups of one name: Go's RE2, whose patterns people have, allows them; the port wants a name of its own for each. */

/** Matches text that hides brackets (quoted text, escapes, classes), or the beginning of a group with a name. */
const opening = /\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\(\?P?<([^>]*)>/gsu;

/** The pattern with a name of its own for each of its named groups, and the names that they had, in order. */
export function withOwnNames(source: string): { source: string; names: string[] } {
  const names: string[] = [];
  const own = source.replace(opening, (text, name?: string) => {
    if (name === undefined) return text;
    names.push(name);
    return `(?P<${ownName(names.length - 1)}>`;
  });
  return { source: own, names };
}

/** Own name of the named group at this place, counted from 0. */
export function ownName(place: number): string {
  return `g${place}`;
}
