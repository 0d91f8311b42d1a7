/** The frame of every page: navigation, the signed-in operator and the connection status. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { isConnected } from '../connection.ts';
import { roleLabels } from '../labels.ts';
import { currentRoute } from '../router.ts';
import { signOut } from '../session.ts';
import { session } from '../session-state.ts';
import { quoteName } from '../text.ts';
import { type Theme, theme, themes } from '../theme.ts';
import { Button } from './button.tsx';
import { Icon, type IconName, Logo } from './icon.tsx';
import { notify } from './notices.tsx';
import { Search, SearchButton } from './search.tsx';

const destinations: readonly (readonly [path: string, text: string, icon: IconName])[][] = [
  [['', 'Overview', 'overview']],
  [
    ['accounts', 'Accounts', 'accounts'],
    ['usage', 'Usage', 'usage'],
    ['bans', 'Bans', 'bans'],
  ],
  [
    ['animals', 'Animals', 'animals'],
    ['categories', 'Categories', 'categories'],
    ['orders', 'Orders', 'orders'],
    ['events', 'Events', 'events'],
    ['webhooks', 'Webhooks', 'webhooks'],
  ],
  [
    ['audit', 'Audit log', 'audit'],
    ['operators', 'Operators', 'operators'],
    ['system', 'System', 'system'],
  ],
];

export function Shell({ children }: { children: ComponentChildren }) {
  const [isOpen, setIsOpen] = useState(false);
  const content = useRef<HTMLElement>(null);
  const [first = ''] = currentRoute.value.path;
  const path = currentRoute.value.path.join('/');
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    // Start each new page at the top, and move the focus there for screen readers.
    setIsOpen(false);
    content.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [path]);
  return (
    <div class={isOpen ? 'shell open' : 'shell'}>
      <button type="button" class="skip" onClick={() => content.current?.focus()}>
        Skip to content
      </button>
      <header class="top">
        <Button
          look="quiet"
          icon={isOpen ? 'close' : 'menu'}
          label={isOpen ? 'Close menu' : 'Menu'}
          onClick={() => setIsOpen(!isOpen)}
        />
        <Brand />
        <SearchButton />
      </header>
      <aside class="side" aria-label="Console">
        <Brand />
        <SearchButton />
        <nav aria-label="Pages">
          {destinations.map((group) => (
            <ul key={group[0]?.[0]}>
              {group.map(([to, text, icon]) => (
                <li key={to}>
                  <a href={`#/${to}`} aria-current={to === first ? 'page' : undefined}>
                    <Icon name={icon} />
                    {text}
                  </a>
                </li>
              ))}
            </ul>
          ))}
        </nav>
        <WhoIsHere />
      </aside>
      <main ref={content} id="content" tabIndex={-1}>
        <Connection />
        {children}
      </main>
      <Search />
    </div>
  );
}

function Brand() {
  return (
    <a class="brand" href="#/">
      <Logo />
      Animal Store
    </a>
  );
}

/** A bar shown while the service is unreachable. */
export function Connection() {
  return (
    <div role="status">
      {!isConnected.value && (
        <p class="lost">
          <Icon name="warning" />
          <span>
            <strong>The service is unreachable.</strong> The data shown may be outdated. This page resumes
            when the service is back.
          </span>
        </p>
      )}
    </div>
  );
}

function WhoIsHere() {
  if (!session.value) return null;
  const { operator, role } = session.value;
  return (
    <div class="who">
      <p>
        <strong>{quoteName(operator.replace(/^\w+:/, ''))}</strong>
        <span>{role === 'viewer' ? 'Viewer (read-only)' : roleLabels[role]}</span>
      </p>
      <ThemeSwitch />
      <Button look="quiet" onClick={() => signOut().catch(({ message }: Error) => notify(message, 'bad'))}>
        Sign out
      </Button>
    </div>
  );
}

const themeWords: Readonly<Record<Theme, readonly [text: string, icon: IconName]>> = {
  system: ['System', 'device'],
  light: ['Light', 'light'],
  dark: ['Dark', 'dark'],
};

export function ThemeSwitch() {
  return (
    <fieldset class="switch">
      <legend class="unseen">Theme</legend>
      {themes.map((each) => {
        const [text, icon] = themeWords[each];
        return (
          <label key={each} title={text}>
            <input
              type="radio"
              name="theme"
              checked={theme.value === each}
              onChange={() => {
                theme.value = each;
              }}
            />
            <Icon name={icon} />
            <span class="unseen">{text}</span>
          </label>
        );
      })}
    </fieldset>
  );
}
