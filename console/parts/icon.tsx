/** Line icons on a 24 × 24 grid. They only accompany text, so they are hidden from screen readers. */
const drawings = {
  overview: 'M3 13h4l3-9 4 16 3-7h4',
  accounts:
    'M16 20v-1a4 4 0 0 0-4-4H7a4 4 0 0 0-4 4v1M9.5 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7M21 20v-1a4 4 0 0 0-3-3.850M15.5 4.150a3.5 3.5 0 0 1 0 6.7',
  animals:
    'M12 13c2.4 0 5 2.7 5 4.9 0 1.3-1 2.1-2.3 2.1-1 0-1.7-.5-2.7-.500s-1.7.5-2.7.500C8 20 7 19.2 7 17.9 7 15.7 9.6 13 12 13M5 9.500v1M9.5 5v1.500M14.5 5v1.500M19 9.500v1',
  categories:
    'M3 11V4a1 1 0 0 1 1-1h7l9.3 9.300a1.5 1.5 0 0 1 0 2.100l-5.9 5.900a1.5 1.5 0 0 1-2.1 0ZM7.5 7.500h.01',
  events: 'M13 3 5 14h6l-1 7 8-11h-6Z',
  webhooks: 'M4 12h11M10 7l5 5-5 5M20 4v16',
  orders: 'M6 8h12l1 12H5ZM9 8V7a3 3 0 0 1 6 0v1',
  bans: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M5.7 5.700l12.6 12.6',
  usage: 'M4 20V10M10 20V4M16 20v-8M21 20H3',
  audit: 'M8 3h9l3 3v15H5V3h3M9 12h7M9 16h7M9 8h4',
  operators: 'M12 3l8 3v6c0 4.5-3.2 7.7-8 9-4.8-1.3-8-4.5-8-9V6ZM9 12l2 2 4-4',
  system: 'M4 4h16v6H4ZM4 14h16v6H4ZM8 7h.010M8 17h.01',
  menu: 'M4 6h16M4 12h16M4 18h16',
  close: 'M6 6l12 12M18 6 6 18',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M20 20l-4-4',
  add: 'M12 5v14M5 12h14',
  copy: 'M9 9h11v11H9ZM5 15H4V4h11v1',
  check: 'M5 12.500l4.5 4.500L19 7.5',
  info: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 11v5M12 8h.01',
  warning: 'M12 4 2.5 20h19ZM12 10v4M12 17h.01',
  upload: 'M12 16V5M7.5 9.5 12 5l4.5 4.500M4 19h16',
  download: 'M12 5v11M7.5 11.5 12 16l4.5-4.500M4 20h16',
  light:
    'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 3v1M12 20v1M3 12h1M20 12h1M5.6 5.600l.7.700M17.7 17.700l.7.700M5.6 18.400l.7-.700M17.7 6.300l.7-.7',
  dark: 'M20 14.500A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5',
  device: 'M4 5h16v11H4ZM9 20h6M12 16v4',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 4l12 8-12 8Z',
  next: 'M9 6l6 6-6 6',
  previous: 'M15 6l-6 6 6 6',
} as const;

export type IconName = keyof typeof drawings;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={drawings[name]} />
    </svg>
  );
}

/** The Animal Store logo, which the guides also use. */
export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <g>
        <ellipse cx="9" cy="14" rx="2.6" ry="3.4" />
        <ellipse cx="13.6" cy="9.4" rx="2.6" ry="3.6" />
        <ellipse cx="18.4" cy="9.4" rx="2.6" ry="3.6" />
        <ellipse cx="23" cy="14" rx="2.6" ry="3.4" />
        <path d="M16 15.5c3.2 0 6.6 3.6 6.6 6.4 0 1.9-1.4 3-3.1 3-1.4 0-2.2-.7-3.5-.7s-2.1.7-3.5.7c-1.7 0-3.1-1.1-3.1-3 0-2.8 3.4-6.4 6.6-6.400z" />
      </g>
    </svg>
  );
}
