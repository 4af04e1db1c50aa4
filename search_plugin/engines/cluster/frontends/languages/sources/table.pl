# The vector of a text, of length 1, by a table that ses models table has written.
my ($path, $text) = ($ARGV[0], Encode::decode("UTF-8", $ARGV[1]));
open my $file, "<:raw", $path or die "$path: $!\n";
my $bytes = do { local $/; <$file> };
my $start = 8 + unpack("Q<", $bytes);
my $header = decode_json(substr $bytes, 8, $start - 8);
my ($codes, $centroids, $weights, $none, @texts) = map {
  my ($first, $end) = @{$header->{$_}{data_offsets}};
  substr $bytes, $start + $first, $end - $first;
} qw(codes centroids weights none vocabulary folding ranges);
my ($vocabulary, $folding, $ranges) = map { [split /\n/, Encode::decode("UTF-8", $_), -1] } @texts;
my %number = map { $vocabulary->[$_] => $_ } 0 .. $#$vocabulary;
my %folded = map { (split /\t/, $_, -1)[0, 1] } @$folding;
my @ranges = map { [split /\t/, $_, -1] } @$ranges;
my @none = unpack "f<*", $none;
my $parts = $header->{codes}{shape}[1];
my $size = @none / $parts;
my @sum = (0) x @none;
for my $piece (pieces($text)) {
  my $weight = unpack "f<", substr $weights, 4 * $piece, 4;
  for my $part (0 .. $parts - 1) {
    my $centroid = $part * 256 + ord substr $codes, $piece * $parts + $part, 1;
    my @values = unpack "f<*", substr $centroids, 4 * $size * $centroid, 4 * $size;
    $sum[$part * $size + $_] += $weight * $values[$_] for 0 .. $#values;
  }
}
my $squares = 0;
$squares += $_ * $_ for @sum;
print encode_json($squares ? [map { $_ / sqrt $squares } @sum] : \@none);

# A character as the tokenizer reads it: folded, removed, or with spaces around where it is a word of its own.
sub fold {
  my ($sign) = @_;
  return $sign if $sign =~ /^[a-z0-9 ]\z/;
  my ($range) = grep { $_->[0] <= ord $sign && ord $sign <= $_->[1] } @ranges;
  return $range->[2] =~ s/&/$sign/r if $range;
  return $folded{$sign} // $sign;
}

# The numbers of the pieces of a text, and of a word: always the longest that the vocabulary has.
sub pieces {
  my $at = 0;
  return map {
    $at++ % 2 ? $number{$_} : map { split_word($_) } grep { length } split / /, join "", map { fold($_) } split //, $_;
  } split /(\[(?:PAD|UNK|CLS|SEP|MASK)\])/, $_[0];
}

sub split_word {
  my ($word, @found) = @_;
  return $number{"[UNK]"} if length $word > 100;
  for (my $start = 0; $start < length $word;) {
    my ($end) = grep { exists $number{($start ? "##" : "") . substr $word, $start, $_} } reverse 1 .. length($word) - $start;
    return $number{"[UNK]"} unless $end;
    push @found, $number{($start ? "##" : "") . substr $word, $start, $end};
    $start += $end;
  }
  return @found;
}
