#!/bin/sh
# What the tests need from the system: Spin and a C compiler, to check the protocol's models;
# Chromium, to look at pages as people do; Node, to run another issuer to sign in through.
cd "$(dirname "$0")/.." || exit 1
missing=""
command -v spin >/dev/null || missing="$missing spin"
command -v gcc >/dev/null || missing="$missing gcc libc6-dev"
command -v chromium >/dev/null || missing="$missing chromium fonts-dejavu-core"
command -v npm >/dev/null || missing="$missing nodejs npm"
if [ -n "$missing" ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    # shellcheck disable=SC2086  # one word per package
    apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing >/dev/null
  else
    echo "the tests need:$missing (Debian: apt-get install$missing)"
    exit 0
  fi
fi
issuer=tests/central/issuer
if ! cmp -s $issuer/package-lock.json $issuer/node_modules/.installed; then
  (cd $issuer && npm ci --silent --no-audit --no-fund) &&
    cp $issuer/package-lock.json $issuer/node_modules/.installed
fi
