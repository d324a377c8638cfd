/** The page that is shown: what stands behind the # of the address, as `#/rules/fleet`. */
import { computed, signal } from '@preact/signals';

const hash = signal(location.hash);
addEventListener('hashchange', () => {
  hash.value = location.hash;
});

/** Parts of the path. */
export const route = computed(() => {
  const [path = ''] = hash.value.replace(/^#\/?/, '').split('?', 1);
  return path
    .split('/')
    .filter((part) => part !== '')
    .map(partOf);
});

/** Values behind the path, as `?sql=…`. */
export const routeQuery = computed(() => new URLSearchParams(hash.value.split('?')[1] ?? ''));

/** The address of a page. */
export function linkTo(...parts: string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

/** Shows a page. */
export function goTo(...parts: string[]): void {
  location.hash = linkTo(...parts);
}

function partOf(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
