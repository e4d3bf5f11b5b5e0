-- The tables that the default queries read, with a few rows: a database to try orrery with.
CREATE TABLE users (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  display_name text NOT NULL,
  user_icon_url text,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE worlds (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name text NOT NULL,
  description text,
  owner_id uuid NOT NULL REFERENCES users,
  is_public boolean NOT NULL DEFAULT true,
  status text NOT NULL DEFAULT 'ACTIVE',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE world_stats (
  world_id uuid PRIMARY KEY REFERENCES worlds,
  total_visits bigint NOT NULL DEFAULT 0,
  unique_visitors bigint NOT NULL DEFAULT 0,
  visits_last_7_days bigint NOT NULL DEFAULT 0,
  visits_last_30_days bigint NOT NULL DEFAULT 0
);
CREATE TABLE instances (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  world_id uuid NOT NULL REFERENCES worlds,
  is_public boolean NOT NULL DEFAULT true,
  is_active boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now()
);

INSERT INTO users (display_name) VALUES ('Ada'), ('Łukasz');
INSERT INTO worlds (name, description, owner_id) SELECT 'The world of ' || display_name, 'A place to try', id FROM users;
INSERT INTO world_stats (world_id, total_visits) SELECT id, 7 FROM worlds;
INSERT INTO instances (world_id) SELECT id FROM worlds;
