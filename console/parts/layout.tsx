/** Building blocks for pages. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

interface PageProps {
  readonly title: string;
  /** Link to the parent page. */
  readonly above?: { readonly href: string; readonly text: string };
  readonly badge?: ComponentChildren;
  readonly about?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Page({ title, above, badge, about, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Animal Store`;
  }, [title]);
  return (
    <>
      <header class="page-head">
        <div>
          {above && (
            <a class="above" href={above.href}>
              {above.text}
            </a>
          )}
          <h1>
            {title} {badge}
          </h1>
          {about && <p class="about">{about}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

interface CardProps {
  readonly title?: string;
  readonly about?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export function Card({ title, about, actions, class: extra = '', children }: CardProps) {
  return (
    <section class={`card ${extra}`}>
      {(title !== undefined || actions) && (
        <header>
          <div>
            {title !== undefined && <h2>{title}</h2>}
            {about && <p class="about">{about}</p>}
          </div>
          {actions && <div class="actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** Message for an empty list. */
export function EmptyMessage({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}

/** Placeholder while data loads. */
export function LoadingPlaceholder({ lines = 4 }: { lines?: number | undefined }) {
  return (
    <div class="waiting" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <i key={line} />
      ))}
    </div>
  );
}

/** A list of names and values. */
export function DefinitionList({
  facts,
}: {
  facts: readonly (readonly [name: string, value: ComponentChildren])[];
}) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
