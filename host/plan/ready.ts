/** Code of the planner that few statements need: it is read before the first of them is parsed. */

export async function readyFor({ sql }: { readonly sql: string }): Promise<void> {
  if (/match_recognize/i.test(sql)) await import('./statement/pattern-ready.js');
}
