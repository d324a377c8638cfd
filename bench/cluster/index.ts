/** `haumea bench cluster`: figures of clusters, or faults at random. */
const chaos = 'chaos';

export async function main(argv: string[], program: string[]): Promise<number> {
  if (argv[0] === chaos) return (await import('./chaos/cli.js')).main(argv.slice(1), program);
  return (await import('./figures.js')).main(argv, program);
}
