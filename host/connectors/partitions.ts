/**
 * Partitions of a stream. Some servers have a name for each: a range in the subjects, `orders.{0-3}.>`, stands for one
 * subject of each number, and what reads one partition has its number in the place of the range, `orders.{2}.>`. Others
 * count them: what reads a part of them has its share behind the names, `orders {2/4}`.
 */

/** As many as a rule may have parts. */
const mostPartitions = 64;
const range = /\{(\d{1,4})(?:-(\d{1,4}))?\}/;

/** Subjects of a DATASOURCE as they are given. */
export function givenSubjects(dataSource: string): string[] {
  return dataSource
    .split(',')
    .map((subject) => subject.trim())
    .filter((subject) => subject !== '');
}

/** The subjects that a subject with a range stands for. */
export function expanded(subject: string): string[] {
  const found = rangeIn(subject);
  if (found === undefined) return [subject];
  return numbersOf(found).map((number) => subject.replace(range, String(number)));
}

/** A DATASOURCE for each partition; undefined when its subjects have no range, or not all the same. */
export function partitionsOf(dataSource: string): string[] | undefined {
  const subjects = givenSubjects(dataSource);
  const ranges = subjects.map(rangeIn);
  const [first] = ranges;
  if (first === undefined || ranges.some((one) => one?.first !== first.first || one.last !== first.last)) {
    return undefined;
  }
  return numbersOf(first).map((number) => subjects.map((one) => one.replace(range, `{${number}}`)).join(', '));
}

/** Partitions whose number leaves `part` when it is divided by `of`. */
export interface Share {
  readonly part: number;
  readonly of: number;
}

const share = /^(.*\S)\s*\{(\d{1,2})\/(\d{1,2})\}\s*$/s;

/** A DATASOURCE for each of so many shares. */
export function sharesOf(dataSource: string, count: number): string[] {
  return Array.from({ length: count }, (_, part) => `${dataSource} {${part}/${count}}`);
}

/** Names in a DATASOURCE, and the share of their partitions; undefined for all of them. */
export function shareIn(dataSource: string): { readonly names: string[]; readonly share: Share | undefined } {
  const [, names = dataSource, part, of] = share.exec(dataSource) ?? [];
  const isShare = part !== undefined && Number(part) < Number(of);
  const found = givenSubjects(isShare ? names : dataSource);
  return { names: found, share: isShare ? { part: Number(part), of: Number(of) } : undefined };
}

/** Number of the one part that a DATASOURCE is of; undefined for all others. */
export function partitionIn(dataSource: string): number | undefined {
  const { share: own } = shareIn(dataSource);
  if (own !== undefined) return own.part;
  const [subject = ''] = givenSubjects(dataSource);
  const found = rangeIn(subject);
  return found !== undefined && found.first === found.last ? found.first : undefined;
}

/** Why a range is none; undefined when all are right. */
export function rangeReason(dataSource: string): string | undefined {
  for (const subject of givenSubjects(dataSource)) {
    if (range.test(subject.replace(range, ''))) return `${subject}: one range at most may stand in a subject`;
    const { first, last } = rangeIn(subject) ?? { first: 0, last: 0 };
    if (last < first) return `${subject}: the partitions end before they begin`;
    if (last - first >= mostPartitions) return `${subject}: a stream has at most ${mostPartitions} partitions`;
  }
  return undefined;
}

interface Range {
  readonly first: number;
  readonly last: number;
}

function rangeIn(subject: string): Range | undefined {
  const found = range.exec(subject);
  if (found === null) return undefined;
  return { first: Number(found[1]), last: Number(found[2] ?? found[1]) };
}

function numbersOf({ first, last }: Range): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
}
