# The words of a text with their other spellings, of which the cluster has told some; or the query for them in fields.
use utf8;
my ($wanted, @given) = map { Encode::decode("UTF-8", $_) } @ARGV;
my $names = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon";
my ($code, %greek, %named) = 0x3b1;
# A final sigma follows rho.
for (split / /, "$names phi chi psi omega") { $greek{$_} = chr $code; $code += $_ eq "rho" ? 2 : 1 }
%named = (reverse(%greek), "\x{b5}" => "mu", "\x{3c2}" => "sigma", "\x{3d5}" => "phi");
my $glued = join "|", grep { length > 3 } keys %greek;
print encode_json(spelled(@given)) if $wanted eq "spelled";
print encode_json(matching(map { JSON::PP->new->allow_nonref->decode($_) } @given)) if $wanted eq "matching";

# The letters, digits and Greek letters of a word apart, in small letters; Greek ones by name.
sub parts {
  my ($word) = @_;
  $word =~ s/^([A-Z0-9]+|[a-z]{2,}(?=(?:$glued)[0-9]*\z))($glued)([A-Z]?[0-9]*)\z/$1 $2 $3/;
  my @parts = $word =~ /\p{Nd}+|[\x{370}-\x{3ff}\x{b5}]|(?:(?![\p{Nd}\x{370}-\x{3ff}\x{b5}])[\p{L}\p{N}])+/g;
  return map { $named{lc $_} // lc $_ } @parts;
}

# The other spellings of a word of several parts, such as TNF-alpha, IL6 and non-smokers.
sub compounds {
  my @words = @_;
  my @parts = map { parts($_) } @words;
  @parts = qw(nf kappa b) if @parts && $parts[0] =~ /^nf(kb)?\z/ && $parts[-1] =~ /^(nf)?kb\z/;
  return () if @parts < 2;
  my $special = grep { $greek{$_} || /^\p{Nd}+\z/ } @parts;
  return (lc(join " ", @words), lc(join "", @words)) if @parts > 4 || (@words > 1 && !$special);
  my @found = ("");
  for my $part (@parts) {
    my @forms = ($part, $greek{$part} // (), $part eq "kappa" ? "k" : ());
    my @longer;
    for my $one (@found) {
      for my $gap (length $one ? (" ", "") : ("")) { push @longer, map { "$one$gap$_" } @forms }
    }
    @found = @longer;
  }
  return @found;
}

# Whether two words are parts of one: by a hyphen, before a Greek letter, or a number after an acronym.
sub continues {
  my ($word, $after, $gap) = @_;
  return $gap =~ m{^(?:[-\x{2010}-\x{2013}\x{2212}]|/-|-/)\z} if $gap ne " ";
  return length $word > 1 if $greek{lc $after} || $named{lc $after};
  return $after =~ /^\p{Lu}\z/ if $greek{lc $word} || $named{lc $word};
  return $after =~ /^\p{Nd}+\z/ && $word =~ /^\p{L}{1,5}\z/ && ($word =~ /\p{Lu}/ || $word !~ /\p{Ll}/);
}

# The words of a text: first those without other spellings, then each of the others with its spellings.
sub spelled {
  my ($text) = @_;
  local $/;
  my %known = map { $_->{_id} => $_->{_source} } map { @{$_->{docs} // []} } @{decode_json(<STDIN>)};
  my (@tokens, @plain, @spelled);
  push @tokens, [$&, $-[0], $+[0]] while $text =~ /[\p{L}\p{N}]+(?:[\x{300}-\x{36f}][\p{L}\p{N}]*)*/g;
  my $left = (() = $text =~ /\S+/g) > 40 ? 0 : 200;
  while (@tokens) {
    my @run = shift @tokens;
    push @run, shift @tokens
      while @tokens && continues($run[-1][0], $tokens[0][0], substr $text, $run[-1][2], $tokens[0][1] - $run[-1][2]);
    my $typed = substr $text, $run[0][1], $run[-1][2] - $run[0][1];
    my %seen = (lc $typed => 1);
    my @others = grep { !$seen{$_}++ } compounds(map { $_->[0] } @run), @{($known{lc $typed} // {})->{spellings} // []};
    $#others = $left - 1 if @others > $left;
    $left -= @others;
    if (@others) { push @spelled, [$typed, @others] } else { push @plain, $typed }
  }
  return @spelled ? [[join " ", @plain], @spelled] : [[$text]];
}

# The query for the words of a text in fields; of the spellings of a word, the one that matches best counts.
sub matching {
  my ($spelled, $fields, $boost) = @_;
  my $ask = sub { return {multi_match => {query => $_[0], type => $_[1], fields => $fields, boost => $boost}} };
  my $best = sub { my $typed = shift; return [$ask->($typed, "most_fields"), map { $ask->($_, "phrase") } @_] };
  return {bool => {should => [map { {dis_max => {queries => $best->(@$_)}} } @$spelled]}};
}
