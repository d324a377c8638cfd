/** What is wider than the page scrolls by itself, also by the keys. */
import type { ComponentChildren } from 'preact';

export function Scroller({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without a place in the order of tabs keys can't scroll it
    <section class="scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
